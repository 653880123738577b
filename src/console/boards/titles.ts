/** The titles alone: they are in the first load. */
export const titles = { title: 'Flow boards', runs: 'Runs' } as const
