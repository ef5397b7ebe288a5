"""What the estimators take from scikit-learn, which is not installed with fastdp."""

from fastdp import optional

optional.load("fd.learning", "sklearn.base", extra="learning")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

__all__ = [
    "BaseEstimator", "ClassifierMixin", "RegressorMixin", "check_classification_targets", "check_is_fitted",
    "validate_data",
]  # fmt: skip
