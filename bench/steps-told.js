// Tells where the time of a measured work goes: `TENANTRY_BENCH_STEPS=1 node bench/run.js snapshot-overhead` prints when each call of a port began and
// how long it took, since the work began. What is between them is the agent's own. It costs some microseconds a call, so figures stay as they are.
const isAsked = process.env.TENANTRY_BENCH_STEPS === '1'

let begunAt = performance.now()
let steps = []

/** A work whose steps are printed once it is done, where that was asked for. */
export async function toldSteps(title, work) {
  begunAt = performance.now()
  steps = []
  await work()
  if (isAsked) print(title, performance.now() - begunAt)
}

/** One step of it, by the name that is printed. */
export async function told(name, work) {
  const from = performance.now()
  try {
    return await work()
  } finally {
    steps.push({ name, from: from - begunAt, took: performance.now() - from })
  }
}

/** The same port, each call of which is a step; `nameOf` says more of one than its method. */
export const telling = (port, nameOf = (method) => method) =>
  isAsked
    ? new Proxy(port, {
        get: (target, method) => {
          const call = target[method]
          return typeof call === 'function' ? (...args) => told(nameOf(method, args), () => call.apply(target, args)) : call
        },
      })
    : port

function print(title, took) {
  console.log(`\n${title}: ${took.toFixed(0)} ms`)
  for (const step of steps.sort((a, b) => a.from - b.from)) console.log(`${ms(step.from)} +${ms(step.took)}  ${step.name}`)
}

const ms = (figure) => figure.toFixed(0).padStart(6)
