// `tenantry doctor`: whether this machine can work with the daemon, and how to mend what keeps it from it.
export { doctor } from './doctor.ts'
