import { expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { reasonLength } from '../../../src/core/kit/index.ts'
import { schemaOf } from '../../support/fitting.ts'

type Limits = Readonly<{ minLength?: number; maxLength?: number }>

const reasons = Object.values(api).flatMap((contract) =>
  Object.entries(contract as Record<string, EndpointShape>).flatMap(([name, { body, auth }]) => {
    const reason = (schemaOf(body)?.properties as Record<string, Limits> | undefined)?.reason
    return reason && auth.kind === 'admin' ? [[name, reason] as const] : []
  }),
)

test.each(reasons)('%s takes every reason that the dialogs of the console take', (_, { minLength = 0, maxLength = Infinity }) => {
  expect(minLength).toBeLessThanOrEqual(reasonLength.min)
  expect(maxLength).toBeGreaterThanOrEqual(reasonLength.max)
})
