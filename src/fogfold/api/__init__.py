"""What the service tells and takes over HTTP; dashboard, client commands and other programs talk to this alone."""
