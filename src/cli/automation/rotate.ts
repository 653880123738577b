import { command, stamp } from '../kit/index.ts'

export const rotate = command('rotate <tenant>', 'End the chat token of a tenant’s automation user', {
  run: ({ api }, { tenant }) => api.automation.rotateChatCredentials({ params: { slug: tenant } }),
  view: ({ userId, rotatedAt }, { paint, now }) =>
    `${paint.green('Rotated')} the chat token of ${userId} (${stamp(rotatedAt, now)}). The next call of matrix/credentials returns a new one.`,
})
