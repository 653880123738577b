/** The titles alone: they are in the first load. */
export const titles = { title: 'Alerts', channels: 'Channels', alert: 'Alert' } as const
