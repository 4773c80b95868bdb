"""Load for a long time; the tests run each load for a short one."""
