import type { ImportEvidence } from '../../core/boxes/index.ts'
import { asJson } from '../../core/kit/index.ts'
import type { HostContainer } from '../ports/index.ts'

const timeoutMs = 5_000

/** The published addresses of containers that answer as a chat server over plain HTTP: those the box can take over. */
export async function chatAddresses(containers: readonly HostContainer[], signal: AbortSignal): Promise<ImportEvidence['addresses']> {
  const published = containers.flatMap(({ name, published }) => published.map((place) => ({ container: name, ...place })))
  const answers = await Promise.all(published.map((place) => answersAsChat(place, signal)))
  return published.filter((_, at) => answers[at])
}

export async function answersAsChat(place: Readonly<{ address: string; port: number }>, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(`http://${hostOf(place.address)}:${place.port}/_matrix/client/versions`, {
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    const body = asJson((await response.text()).slice(0, 100_000)) as { versions?: unknown } | null | undefined
    return response.ok && Array.isArray(body?.versions)
  } catch {
    signal.throwIfAborted()
    return false
  }
}

const hostOf = (address: string): string => (address === '' ? '127.0.0.1' : address.includes(':') ? `[${address}]` : address)

/** An entry under `ports` of a compose file, to the edge's listener for clients. */
export const publishedEntry = ({ address, port }: Readonly<{ address: string; port: number }>): string =>
  address === '' ? `${port}:8080` : `${address.includes(':') ? `[${address}]` : address}:${port}:8080`
