export const titles = {
  cli: 'Log in a command line',
  passkeys: 'Passkeys',
} as const
