/** The titles alone: they are in the first load. */
export const titles = { jobs: 'Jobs', crons: 'Schedules', webhooks: 'Webhooks' } as const
