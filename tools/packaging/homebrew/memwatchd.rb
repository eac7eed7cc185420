class Memwatchd < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  url "{{.Homepage}}.git", tag: "{{.Version}}", revision: "{{.Commit}}"
  license "{{.License}}"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w"), "./cmd/memwatchd"
    system "go", "build", "-o", "write-man", "./cmd/memwatchd/internal/man"
    system "./write-man", man
    generate_completions_from_executable(bin/"memwatchd", "completion")
  end

  service do
    run [opt_bin/"memwatchd", "serve"]
    keep_alive true
    log_path var/"log/memwatchd.log"
    error_log_path var/"log/memwatchd.log"
  end

  test do
    ENV["HOME"] = testpath
    (testpath/"notes/certificate.md").write "# Certificate\n\nRenewed in May.\n"
    config = testpath/"config.yaml"
    system bin/"memwatchd", "init", "--dir", testpath/"notes", "--config", config
    pid = spawn bin/"memwatchd", "--config", config, "serve"
    begin
      sleep 2
      assert_match "Renewed", shell_output("#{bin}/memwatchd --config #{config} search renewed")
    ensure
      Process.kill "TERM", pid
      Process.wait pid
    end
  end
end
