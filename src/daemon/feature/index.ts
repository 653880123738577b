// Declares features: a feature says once which endpoints, jobs, crons, loops, clean-ups, metrics and sealed columns it has.
// `app/features.ts` lists all features, and `app/compose.ts` folds the declarations into the running daemon.
// It knows no feature and runs nothing by itself.
export { type Cron, defineCron } from './cron.ts'
export { type Cleanup, type Feature, feature, withDeps } from './feature.ts'
export type { LeasedLoop, Loop, Round } from './loop.ts'
