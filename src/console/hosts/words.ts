import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  allOnline: (count: number) => `All ${plural(count, 'host')} online.`,
  trouble: (count: number) => (count === 1 ? '1 host needs you.' : `${count} hosts need you.`),
  none: 'No hosts yet',
  noneHint: 'Invite a host, then run the two commands shown on it.',
  nothingFits: 'No host matches the filter',
  inviteConsequence: 'Creates a token that enrols one host. It is valid for 15 minutes, for one use, and shown once.',
  invited: (name: string) => `Run this on ${name}. The token is not shown again.`,
  name: 'Name of the host',
  revoke: 'Revoke',
  revokeTitle: (name: string) => `Revoke the agent of ${name}?`,
  revokeConsequence: 'Its boxes keep running, but cannot be updated or restored until the host enrols again. Its open commands expire.',
  frozen: 'Two agents use the key of this host. Stop the other agent, then invite this host and enrol it again.',
  clock: 'The clock of this host is wrong. Set it on the host: timedatectl set-ntp true',
  disk: 'Less than 10 % of its disk is free; updates and snapshots may be refused. Free disk space on it.',
  registries: 'Registries',
  noRegistries: 'Agents pull images straight from each registry, without credentials.',
  setRegistry: 'tenantry hosts registries set --help',
  facts: 'Machine',
  boxes: 'Boxes on this host',
  reserve: { kept: 'intact', used: 'used: the disk was full' },
} as const
