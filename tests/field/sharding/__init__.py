"""Several devices against one, in processes of their own: the number of devices is fixed before JAX starts."""
