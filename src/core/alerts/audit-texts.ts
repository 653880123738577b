import type { NewAlert } from './alert.ts'
import { spoken } from './rollout-texts.ts'

// Alerts about the audit log: signed heads leave the machine in them, and a log that was tampered with is told.

type Head = Readonly<{ chain: string; count: number; hash: string; at: string; keyId: string; signature: string }>

/** Whoever gets this message holds a checkpoint that nobody on the daemon's machine can take back. */
export const rolloutSigned = (of: Readonly<{ rolloutId: string; status: string; head: Head }>): NewAlert => {
  const { chain, count, hash, at, keyId, signature } = of.head
  return {
    kind: 'rollout_signed',
    key: `rollout_signed:${of.rolloutId}:${count}`,
    subject: of.rolloutId,
    severity: 'info',
    title: `Rollout ${of.rolloutId} is over (${of.status.replace('_', ' ')}); its log is signed`,
    body:
      `The audit log of the rollout has ${count} entries and was signed at ${spoken(at)} by the key ${keyId}. Nothing is to be done but to keep ` +
      'this message: the line below, in a file of its own, proves the log against whoever changes it later (`tenantry audit verify --checkpoint <file>`).\n' +
      JSON.stringify({ chain, count, hash, at, keyId, signature }),
    command: `tenantry rollouts show ${of.rolloutId}`,
  }
}

/** The daemon itself found that what it signed is no longer there. */
export const auditBroken = (of: Readonly<{ chain: string; count: number; at: string }>): NewAlert => ({
  kind: 'audit_broken',
  key: `audit_broken:${of.chain}`,
  subject: of.chain,
  severity: 'critical',
  title: `The audit log (${of.chain}) was cut or written anew`,
  body:
    `At ${spoken(of.at)} the chain ${of.chain} was signed with ${of.count} entries, and the log no longer holds what was signed then.\n` +
    'Somebody changed the database, or an older copy of it was put back. Boxes and rollouts are not touched by this. Keep the database as it is ' +
    'and compare it with a backup; the chain is not signed again until that is settled.',
  command: 'tenantry audit verify --checkpoint audit-checkpoints.jsonl',
  standing: true,
})
