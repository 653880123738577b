import { clean, command, fields, sections, stamp } from '../kit/index.ts'

export const whoAmI = command(
  'whoami',
  'Who the daemon takes you for, and until when',
  {},
  ({ api }) => api.admin.whoAmI(),
  ({ account, token, expiresAt, setup, totp }, style) =>
    sections(
      fields(style, [
        ['account', style.paint.bold(clean(account.name))],
        ['role', account.role],
        ['by', token ? `API token ${clean(token.name)}` : 'login'],
        ['until', stamp(expiresAt, style.now)],
        ['one-time codes', token ? undefined : totp ? 'on' : 'off'],
      ]),
      setup.length > 0 ? style.paint.yellow(`Not set up in full (${setup.join(', ')}): tenantry login`) : '',
    ),
)
