"""Which model, what price, what budget.

`port` says what a model is asked and what comes back, in words of our own; `converse` drives a model and its tools
within a `BudgetTracker`; `Models` turns tiers and `provider:model` names into models. Only this package knows
pydantic-ai and genai-prices, and only when a real provider is asked: scripted models need neither.
"""
