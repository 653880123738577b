/** Version of the agent protocol, incremented for incompatible changes. */
export const protocolVersion = 1

/** The oldest version this agent supports. */
export const oldestProtocol = 1

/** Versions this daemon supports. */
export const supportedProtocols: readonly number[] = [1]

/** The range of versions an agent supports. */
export type SpokenProtocols = Readonly<{ newest: number; oldest: number }>

/** The highest version both sides support, or the outdated side. */
export function commonProtocol(
  daemon: readonly number[],
  { newest, oldest }: SpokenProtocols,
): { version: number } | { older: 'daemon' | 'agent' } {
  const common = daemon.filter((version) => version >= oldest && version <= newest)
  if (common.length > 0) return { version: Math.max(...common) }
  return { older: newest < Math.max(...daemon) ? 'agent' : 'daemon' }
}

/** Limits for untrusted input of agents. */
export const channelLimits = {
  resultBytes: 1024 * 1024,
  reportsBytes: 1024 * 1024,
  reports: 500,
  held: 200,
  progressPerCall: 100,
  /** Followers of logs on one host, as agents accept. */
  followers: 20,
  /** Only the newest are stored. */
  progressPerCommand: 200,
} as const

/** Parameters of agent JWTs. */
export const agentToken = { algorithm: 'EdDSA', lifeSeconds: 60, leewaySeconds: 30, instanceClaim: 'iid' } as const

/** Removes trailing slashes. */
export const plainUrl = (url: string): string => url.replace(/\/+$/, '')

/** Audience of agent JWTs, so that a token is valid for one daemon only. */
export const agentAudience = (daemonUrl: string): string => `${plainUrl(daemonUrl)}/agent`
