// Imported before the app, which looks for its key when it is loaded: the key that the simulator signs with.
process.env.SERVICE_PRIVATE_KEY = 'pri_sim_dev';
