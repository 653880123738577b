/** The titles alone: they are in the first load. */
export const titles = { accounts: 'Accounts', tokens: 'API tokens' } as const
