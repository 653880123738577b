import { execa } from 'execa'
import { readTestbed } from '../../testbed/testbed.ts'

/** A MinIO of the test bed as a snapshot store of its own, by plain HTTP as in a closed network. */
export async function aBucket(name: string) {
  const { docker, dockerHost, images } = readTestbed()
  const run = (...args: string[]) => execa(docker, args, { env: { DOCKER_HOST: dockerHost } })
  const [user, password] = ['snapshots', 'password-of-a-store']
  const environment = ['-e', `MINIO_ROOT_USER=${user}`, '-e', `MINIO_ROOT_PASSWORD=${password}`]
  await run('network', 'create', name)
  await run('run', '-d', '--name', name, '--network', name, ...environment, images.minio.ref, 'server', '/data')
  const { stdout: address } = await run('inspect', '-f', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', name)
  const emptySum = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const signed = ['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', `${user}:${password}`, '-H', `x-amz-content-sha256: ${emptySum}`]
  const retried = ['--retry', '30', '--retry-delay', '1', '--retry-connrefused']
  const makeBucket = (bucket: string) =>
    run('exec', name, 'curl', '-sS', '-f', '-X', 'PUT', ...retried, ...signed, `http://127.0.0.1:9000/${bucket}`)
  await makeBucket('snapshots')
  return {
    makeBucket,
    /** With all that is in it. */
    dropBucket: (bucket: string) => run('exec', name, 'rm', '-rf', `/data/${bucket}`),
    repository: `s3:http://${address}:9000/snapshots/north/v1`,
    env: { AWS_ACCESS_KEY_ID: user, AWS_SECRET_ACCESS_KEY: password },
    stop: () => run('stop', '-t', '1', name),
    remove: async () => {
      await run('rm', '-f', '-v', name)
      await run('network', 'rm', name)
    },
  }
}
