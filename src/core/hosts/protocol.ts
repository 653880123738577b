/** Version of what daemon and agent say to each other. It rises when an old side could misunderstand a new one. */
export const protocolVersion = 1

/** The oldest that this agent still speaks. */
export const oldestProtocol = 1

/** Versions that this daemon still speaks with. */
export const supportedProtocols: readonly number[] = [1]

/** The versions an agent speaks: its own, and all down to the oldest. */
export type SpokenProtocols = Readonly<{ newest: number; oldest: number }>

/** The highest version that both sides speak, or which of them must be upgraded. */
export function commonProtocol(
  daemon: readonly number[],
  { newest, oldest }: SpokenProtocols,
): { version: number } | { older: 'daemon' | 'agent' } {
  const common = daemon.filter((version) => version >= oldest && version <= newest)
  if (common.length > 0) return { version: Math.max(...common) }
  return { older: newest < Math.max(...daemon) ? 'agent' : 'daemon' }
}

/** What agents send is untrusted: nothing of it may grow without end (SECURITY, Agents). */
export const channelLimits = {
  resultBytes: 1024 * 1024,
  reportsBytes: 1024 * 1024,
  reports: 500,
  held: 200,
  progressPerCall: 100,
  /** The newest are kept. */
  progressPerCommand: 200,
} as const

/** What agent JWTs are made of, on both sides (SECURITY, Agents). */
export const agentToken = { algorithm: 'EdDSA', lifeSeconds: 60, leewaySeconds: 30, instanceClaim: 'iid' } as const

/** Trailing slashes mean nothing: one form of a daemon's URL on both sides. */
export const plainUrl = (url: string): string => url.replace(/\/+$/, '')

/** Audience of agent JWTs: a token signed for one daemon is worth nothing at another. */
export const agentAudience = (daemonUrl: string): string => `${plainUrl(daemonUrl)}/agent`
