import { command, count, fields, oneOf, required, sections, stamp } from '../kit/index.ts'

export const createToken = command(
  'create <name>',
  'An API token for scripts, shown once; it ends with the account that made it',
  {
    role: required(oneOf('--role <role>', 'what it may do', ['viewer', 'reviewer', 'operator'])),
    days: count('--days <days>', 'how long it works, at most 365 (default: 90)'),
  },
  ({ api }, { name, role, days }) => api.admin.createToken({ body: { name, role, ...(days ? { days } : {}) } }),
  ({ name, role, token, expiresAt }, look) =>
    sections(
      fields(look, [
        ['token', look.paint.bold(token)],
        ['name', name],
        ['role', role],
        ['works until', stamp(expiresAt, look.now)],
      ]),
      'It is shown only now. Scripts give it as TENANTRY_TOKEN.',
    ),
)
