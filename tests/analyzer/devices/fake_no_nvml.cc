// A library of the driver's name that has nothing of what is looked for.
extern "C" int fake_no_nvml() { return 0; }
