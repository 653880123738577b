// For tests only.
export { findJob, jobsAfter } from './jobs.repo.ts'
export { getJob, listJobs, retryJobs } from './jobs.routes.ts'
