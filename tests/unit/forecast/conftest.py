"""Forecasters made in one line."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.forecast.registry import forecaster


@pytest.fixture
def follow():
    """A forecaster by name that has seen these rows, in steps of five minutes unless told."""

    def make(name, rows, *, step_s=300.0, horizon_steps=12, **more):
        return forecaster(name, np.asarray(rows, float), step_s=step_s, horizon_steps=horizon_steps, **more)

    return make
