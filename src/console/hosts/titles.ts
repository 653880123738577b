/** The titles alone: they are in the first load. */
export const titles = { title: 'Hosts', invite: 'Invite host' } as const
