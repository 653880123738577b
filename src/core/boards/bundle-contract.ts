import { z } from 'zod'
import { type Contract, endpoint } from '../contract/index.ts'
import { FlowBundle } from './bundle.ts'
import { Board, BoardName, base, manage, one } from './contract.ts'
import { BoardBindings } from './definition.ts'
import { Simulation, SimulationScript } from './simulate.ts'

/** A bundle is a little longer than the board that it holds, which has at most 4 MiB. */
export const importLimit = 5 * 1024 * 1024

export const importBody = z.strictObject({
  bundle: FlowBundle,
  name: BoardName.optional().meta({ description: 'Default: the name in the bundle' }),
  bindings: BoardBindings.default({ roles: {}, rooms: {} }).meta({ description: 'Roles and rooms for the parameters of the bundle' }),
})

/** Boards as bundles of the format `svc.process-engine/v1`, and boards played without a run. */
export const bundleContract = {
  exportBoard: endpoint({
    method: 'GET',
    path: `${base}/:id/export`,
    auth: manage,
    cost: 'export',
    params: one,
    returns: FlowBundle,
    problems: ['BOARD_INVALID'],
    summary: 'Export the last saved version of a board as a bundle; room ids become parameters',
    spec: '2.9',
  }),
  importBoard: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: `${base}/import`,
    auth: manage,
    cost: 'import',
    body: importBody,
    bodyLimit: importLimit,
    returns: Board,
    status: 201,
    problems: ['CONFLICT', 'PAYLOAD_TOO_LARGE'],
    summary: 'Import a bundle as a draft; open parameters are findings until they have bindings',
    spec: '4.8',
  }),
  simulateBoard: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${base}/:id/simulate`,
    auth: manage,
    cost: 'simulation',
    params: one,
    body: SimulationScript.prefault({}),
    bodyLimit: 1024 * 1024,
    returns: Simulation,
    problems: ['BOARD_INVALID', 'PAYLOAD_TOO_LARGE'],
    summary: 'Play the last saved version with scripted answers and moved time; nothing is stored or sent',
  }),
} as const satisfies Contract
