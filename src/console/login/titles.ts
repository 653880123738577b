export const titles = {
  cli: 'Log in a command line',
} as const
