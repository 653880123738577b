import { command, fields, sections, stamp } from '../kit/index.ts'

export const invite = command(
  'invite <name>',
  'Make a token with which one agent enrols under this name; it works once, for 15 minutes',
  {},
  ({ api }, { name }) => api.hosts.inviteHost({ body: { name } }),
  ({ token, name, expiresAt }, look) =>
    sections(
      fields(look, [
        ['host', name],
        ['token', look.paint.bold(token)],
        ['works until', stamp(expiresAt, look.now)],
      ]),
      'The token is shown only now. On the host, put it into a file that only root can read, then:\n' +
        `  tenantry-agent enrol --url ${look.url ?? '<this daemon>'} --token-file <file>\n  tenantry-agent run`,
    ),
  { examples: ['invite host-1', 'invite host-1 --json | jq -r .token'] },
)
