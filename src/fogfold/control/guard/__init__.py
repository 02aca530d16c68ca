"""What stands between a proposal and the cluster. It may only remove: never a move, a sleep or a wake-up of its own.

`settings` says how much may be disturbed, `memory` what happened before, `judge` puts the rules together.
"""
