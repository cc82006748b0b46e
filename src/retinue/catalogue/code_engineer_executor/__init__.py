"""Navigates, analyses, reviews, documents and refactors code; with a model it proposes fixes and features (G19).

Everything but `fix_bug` and `add_feature` comes from a language server, syntax trees and a linter. Nothing is written
unless it is asked for and allowed.
"""

from .agent import CodeEngineerExecutor

__all__ = ["CodeEngineerExecutor"]
