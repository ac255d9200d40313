raise RuntimeError("no licence found")
