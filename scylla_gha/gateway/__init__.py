"""Model gateway: the process that forwards model requests of agents and judges, holds the key and keeps budgets."""
