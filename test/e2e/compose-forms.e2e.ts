import { describe } from 'vitest'
import { dockerEngine } from '../../src/agent/docker/index.ts'
import { composeForms } from '../agent/suites/compose-forms.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'

describe.skipIf(!testbedExists())('compose files of owners', () => {
  composeForms('volumes as docker compose reads them', async () => {
    const { dockerHost, dockerConfig, docker } = readTestbed()
    return dockerEngine({ dockerHost, dockerConfig, docker })
  })
})
