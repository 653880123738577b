import { expect, test } from 'vitest'
import { z } from 'zod'
import { endpoint, makeClient, open } from '../../../src/core/contract/index.ts'

const contract = {
  login: endpoint({
    method: 'POST',
    path: '/login',
    auth: open,
    body: z.strictObject({ password: z.string() }),
    returns: z.object({}),
    summary: 'Log in',
  }),
}

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed with the body, and the message names the other address',
  async (status) => {
    const asked: (RequestInit | undefined)[] = []
    const headers = { location: 'https://other.example/login' }
    const fetch = async (_: unknown, request?: RequestInit) => {
      asked.push(request)
      return new Response(null, { status, headers })
    }
    const login = makeClient(contract, { baseUrl: 'https://here.example', fetch: fetch as typeof globalThis.fetch }).login
    await expect(login({ body: { password: 'secret' } })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('redirects to https://other.example/login'),
    })
    expect(asked).toMatchObject([{ redirect: 'manual' }])
  },
)
