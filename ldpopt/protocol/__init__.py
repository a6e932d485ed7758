"""The two-round protocol by which users release features without a trusted party."""
