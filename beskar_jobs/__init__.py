"""Beskar Jobs: distributed background jobs on MQTT 5, enqueued by class and type-checked."""
