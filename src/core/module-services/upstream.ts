import { z } from 'zod'
import { forbiddenPort, isLoopback } from '../kit/index.ts'

/** The address that an operator sets for the service of a module. */
export const UpstreamUrl = z
  .string()
  .max(500)
  .superRefine((text, { addIssue }) => {
    const message = whyInvalid(text)
    if (message) addIssue({ code: 'custom', message })
  })
  .transform((text) => new URL(text).href.replace(/\/$/, ''))

function whyInvalid(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an address such as https://attendance.example'
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) return 'must begin with https:, unless it is on loopback'
  if (url.username + url.password !== '') return 'must not contain a user name or password'
  if (url.search + url.hash !== '' || text.includes('?') || text.includes('#')) return 'must not contain a query or a fragment'
  return forbiddenPort(url)
}

/** Requests of users go below `/api`, messages of the platform to `/webhook`: no user reaches the webhook through the proxy. */
export const webhookUrl = (upstream: string): string => `${upstream}/webhook`
export const apiUrl = (upstream: string, path: string): string => `${upstream}/api${path}`
