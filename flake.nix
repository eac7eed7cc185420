{
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      about = builtins.fromJSON (builtins.readFile ./tools/packaging/about.json);
      systems = [
        "aarch64-darwin"
        "aarch64-linux"
        "x86_64-darwin"
        "x86_64-linux"
      ];
      package =
        pkgs:
        pkgs.buildGoModule {
          pname = about.name;
          version = self.shortRev or "dirty";
          src = self;
          # Run go run . -vendorhash in tools/release after a change of go.mod.
          vendorHash = "sha256-G7guN5lvJtEqUaemgwDaORJPGvTdire0rJvHliJkqjM=";
          env.CGO_ENABLED = 0;
          subPackages = [ "cmd/memwatchd" ];
          nativeBuildInputs = [ pkgs.installShellFiles ];
          doCheck = false; # make test runs the tests, with tools of its own
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/memwatchd man $TMPDIR/man
            installManPage $TMPDIR/man/*
            installShellCompletion --cmd memwatchd \
              --bash <($out/bin/memwatchd completion bash) \
              --zsh <($out/bin/memwatchd completion zsh) \
              --fish <($out/bin/memwatchd completion fish)
          '';
          meta = {
            description = about.summary;
            homepage = about.homepage;
            license = pkgs.lib.licenses.asl20;
            mainProgram = about.name;
          };
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system};
      });
    };
}
