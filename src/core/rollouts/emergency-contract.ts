import { z } from 'zod'
import { adminPerson, type Contract, endpoint } from '../contract/index.ts'
import { secret } from '../kit/index.ts'
import { RolloutDetail } from './contract.ts'
import { orderFields, type UncheckedOrder } from './emergency.ts'

const unchecked = (description: string) => z.unknown().optional().meta({ type: 'string', description })

/**
 * Parsed only in part: a wrong token must be refused before the answer shows whether the rest is valid. The token becomes a `Secret` here;
 * the verb validates the rest.
 */
const EmergencyBody = z
  .looseObject({
    reason: unchecked('At least 20 characters, with the id of the CVE'),
    toChatServer: unchecked('Synapse, such as 1.163.2'),
    toDatabase: unchecked('PostgreSQL, within its major version, such as 17.6'),
    toObjectStore: unchecked('MinIO, such as RELEASE.2025-09-07T16-13-09Z'),
    toMigrationsHead: unchecked('Head of the box migrations, four digits'),
    approvalToken: unchecked('The token that `tenantryd approval-token` printed'),
    triggeredBy: unchecked('Who decided it; recorded beside the calling account'),
  })
  .transform(({ approvalToken, ...rest }) => ({
    approvalToken: secret(typeof approvalToken === 'string' ? approvalToken : ''),
    ...split(rest),
  }))

function split(rest: Readonly<Record<string, unknown>>): UncheckedOrder {
  const known = orderFields.filter((name) => Object.hasOwn(rest, name))
  return { order: Object.fromEntries(known.map((name) => [name, rest[name]])), unknownFields: Object.keys(rest).length - known.length }
}

/** Emergencies skip canary and maintenance windows, for a vulnerability that is being exploited. */
export const emergencyContract = {
  createEmergency: endpoint({
    method: 'POST',
    audit: ['rollout.created', 'rollout.emergency.wrong_token'],
    path: '/admin/v1/tenant-boxes/cve-hotpath',
    auth: adminPerson('admin'),
    cost: 'plan',
    body: EmergencyBody,
    returns: RolloutDetail,
    status: 201,
    problems: ['AUTH', 'CONFIG', 'VALIDATION', 'CONFLICT', 'NOT_FOUND'],
    summary: 'Queue an emergency rollout of all boxes, whose start applies its versions to the manifest; needs the approval token',
    spec: '4.6',
  }),
} as const satisfies Contract
