import { command, fields, sections, stamp } from '../kit/index.ts'

export const invite = command(
  'invite <name>',
  'Make a token with which one agent enrols under this name; it works once, for 15 minutes',
  {},
  ({ api }, { name }) => api.hosts.inviteHost({ body: { name } }),
  ({ token, name, expiresAt }, style) =>
    sections(
      fields(style, [
        ['host', name],
        ['token', style.paint.bold(token)],
        ['works until', stamp(expiresAt, style.now)],
      ]),
      'The token is shown only now. On the host, put it into a file that only root can read, then:\n' +
        `  tenantry-agent enrol --url ${style.url ?? '<this daemon>'} --token-file <file>\n  tenantry-agent run`,
    ),
  { examples: ['invite host-1', 'invite host-1 --json | jq -r .token'] },
)
