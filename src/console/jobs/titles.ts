/** The titles alone: they are in the first load. */
export const titles = { jobs: 'Jobs', crons: 'Schedules', webhooks: 'Payment events' } as const
