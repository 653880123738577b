/** The title alone: it is in the first load. */
export const titles = { list: 'Snapshots' } as const
