import { readFile } from 'node:fs/promises'
import { execa } from 'execa'
import { expect, test } from 'vitest'

test('the word of the client for buckets on coming Node.js versions is none to operators, and every other warning still is', async () => {
  const [, name = ''] = /process\.env\.(\w+) \?\?= 'true'/.exec(await readFile('bin/tenantryd.js', 'utf8')) ?? []
  const program = `import { S3Client } from '@aws-sdk/client-s3'
    new S3Client({ region: 'us-east-1' })
    process.emitWarning('another')`
  const { stderr } = await execa(process.execPath, ['--input-type=module', '-e', program], { env: { [name]: 'true', NODE_OPTIONS: '' } })
  expect(stderr).toContain('Warning: another')
  expect(stderr).not.toContain('AWS SDK')
})
