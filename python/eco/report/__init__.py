"""Results: the records that eco bench writes, and how they are shown."""
