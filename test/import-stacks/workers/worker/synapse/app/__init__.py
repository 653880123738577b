# In the place of Synapse.
