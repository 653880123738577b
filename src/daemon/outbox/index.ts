// What an operator sees of follow-up work: what waits and why, what was given up, and that it waits for too long.
// It has work tried again; it does none, and it shows no more of it than the ids it is about.

export { outboxRoutes } from './outbox.routes.ts'
export { outboxMetrics } from './outbox-metrics.ts'
export { watchOutbox } from './watch-outbox.ts'
