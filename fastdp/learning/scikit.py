"""What the estimators take from scikit-learn, which is not installed with fastdp."""

from __future__ import annotations

from typing import Any

from fastdp import optional

_base: Any = optional.load("fd.learning", "sklearn.base", extra="learning")
_multiclass: Any = optional.load("fd.learning", "sklearn.utils.multiclass", extra="learning")
_validation: Any = optional.load("fd.learning", "sklearn.utils.validation", extra="learning")

BaseEstimator: Any = _base.BaseEstimator
ClassifierMixin: Any = _base.ClassifierMixin
RegressorMixin: Any = _base.RegressorMixin
check_classification_targets: Any = _multiclass.check_classification_targets
check_is_fitted: Any = _validation.check_is_fitted
validate_data: Any = _validation.validate_data
