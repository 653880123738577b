/** The titles alone: they are in the first load. */
export const titles = { title: 'Settings' } as const
